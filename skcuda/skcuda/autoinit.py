"""As `skcuda.misc.init()`, which does nothing: imports of this module keep working."""
