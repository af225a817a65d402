"""Devices: lookup, attributes, identity."""

import re
import warnings

import numpy as np
import pytest

import pycuda.driver as drv


@pytest.fixture
def device():
    drv.init()
    return drv.Device(0)


def test_init_may_be_repeated():
    drv.init()
    drv.init(0)
    drv.init(flags=0)


def test_init_refuses_flags():
    with pytest.raises(drv.LogicError, match="cuInit failed: invalid argument"):
        drv.init(1)


def test_versions():
    assert drv.get_version() == (13, 0, 0)
    assert drv.get_driver_version() >= 11040


def test_there_is_a_device(device):
    assert drv.Device.count() >= 1


def test_calls_about_devices_initialize_the_driver(run_python):
    program = """
        import pycuda.driver as drv
        print({}, drv.Device(0).name() != "")
    """
    assert run_python(program.format("drv.Device.count() > 0"), check=True).stdout == "True True\n"
    assert run_python(program.format("drv.Device(0) == drv.Device(0)"), check=True).stdout == "True True\n"


@pytest.mark.parametrize("number", [-1, 1000])
def test_no_such_device(device, number):
    with pytest.raises(drv.LogicError):
        drv.Device(number)


def test_identity(device):
    again = drv.Device(np.int32(0))
    assert device == again and hash(device) == hash(again)
    assert (device != again) is False and device != 0 and device != "0"
    assert len({device, again}) == 1


def test_by_pci_bus_id(device):
    bus = device.pci_bus_id()
    assert re.fullmatch(r"[0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.[0-9A-Fa-f]", bus)
    assert drv.Device(bus) == device
    assert drv.Device(pci_bus_id=bus) == device


def test_no_such_pci_bus_id(device):
    with pytest.raises(drv.LogicError, match="nonsense"):
        drv.Device("nonsense")


def test_name_capability_and_memory(device):
    assert isinstance(device.name(), str) and device.name()
    major, minor = device.compute_capability()
    assert major >= 5 and 0 <= minor <= 9
    assert device.total_memory() > 1 << 20


def test_attributes(device):
    attribute = drv.device_attribute
    assert device.get_attribute(attribute.WARP_SIZE) == device.warp_size == 32
    assert device.get_attribute(int(attribute.MAX_BLOCK_DIM_X)) == 1024
    assert device.max_threads_per_block == 1024
    assert device.compute_capability() == (device.compute_capability_major, device.compute_capability_minor)
    assert type(device.multiprocessor_count) is int and device.multiprocessor_count >= 1


def test_compute_mode_is_a_compute_mode(device):
    assert isinstance(device.compute_mode, drv.compute_mode)


def test_unknown_attributes(device):
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = device.no_such_thing
    with pytest.raises(AttributeError):
        _ = device.WARP_SIZE
    assert not hasattr(device, "warp_Size")
    with pytest.raises(drv.LogicError, match="attribute 9999"):
        device.get_attribute(9999)


def test_all_attributes(device):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        attributes = device.get_attributes()
    assert attributes[drv.device_attribute.WARP_SIZE] == 32
    assert len(attributes) > 80
    assert all(isinstance(key, drv.device_attribute) for key in attributes)


def test_peers(device):
    assert not device.can_access_peer(device)
    with pytest.raises(TypeError):
        device.can_access_peer(0)


@pytest.mark.cpu("PYCUDA_CPU_DEVICES sets the number of virtual devices only")
def test_several_devices(run_python):
    """The CPU device offers as many devices as are requested."""
    done = run_python(
        """
        import pycuda.driver as drv
        drv.init()
        devices = [drv.Device(i) for i in range(drv.Device.count())]
        print(len(devices), len(set(devices)), len({d.pci_bus_id() for d in devices}))
        with devices[2].make_context():
            print(drv.Context.get_device() == devices[2])
        """,
        env={"PYCUDA_CPU_DEVICES": "3"},
        check=True,
    )
    assert done.stdout == "3 3 3\nTrue\n"


def test_the_cpu_device_is_announced_once_where_it_was_not_chosen(run_python):
    """Where there is no GPU and no setting chooses the CPU device, one RuntimeWarning says that it is
    used."""
    program = """
        import warnings
        import pycuda.driver as drv
        from devices import on_cpu_device
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            drv.init()
            drv.init()
            drv.mem_alloc(4)
        notices = [w for w in caught if issubclass(w.category, RuntimeWarning)]
        print(on_cpu_device(), len(notices))
        """
    done = run_python(program, env={"PYCUDA_DEVICE": None, "PYCUDA_DRIVER": None}, check=True)
    assert done.stdout in ("True 1\n", "False 0\n")
