"""What the public modules and the other private folders share: names and classes of pycuda.driver that are
made in Python, and what the extension calls in Python.

Imports nothing of pycuda but pycuda._driver, compyte apart.
"""
