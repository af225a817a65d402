"""What time several GPUs should take, from what one takes and the rates of the links between them.

Times are in ns, sizes in bytes, rates in bytes per ns (GB/s). A link is [latency, rate]: what the smallest
message takes, and the rate of the largest.
"""


def message(link, size):
    """One message."""
    latency, rate = link
    return latency + size / rate


def halo(link, gpus, columns):
    """The exchange of a strip's edges, rows of float64: with one neighbor, or with two that share the GPU's
    link.
    """
    neighbors = min(gpus - 1, 2)
    return message(link, neighbors * 8 * columns) if neighbors else 0


def heat(one, link, gpus, columns, weak=False, host=0):
    """A step on `gpus` GPUs: the rows of a strip are computed while the halo is exchanged and the host queues
    the next step.

    one: a step on one GPU of the whole plate or, in weak scaling, of the rows that every GPU has. host: what
    a step takes the host, whatever the plate.
    """
    return max(one if weak else one / gpus, halo(link, gpus, columns), host)


def host(measured, gpus, more, share_a_lock):
    """The host's time for a step on `more` GPUs, from that on `gpus`. Threads share Python's lock; processes
    share nothing.
    """
    return measured * more / gpus if share_a_lock else measured


def product(one, link, gpus, side, itemsize=4):
    """A product of square matrices, of which each GPU has a part of the rows: the second one is gathered on
    all, then each multiplies its rows. link: of the all-gather.
    """
    received = itemsize * side * side * (gpus - 1) / gpus
    return one / gpus + (message(link, received) if received else 0)


def efficiency(one, spent, gpus, weak=False):
    """The part of the GPUs' time that is of use: 1 where twice as many take half of the time or, in weak
    scaling, do twice as much in the same.
    """
    return one / spent / (1 if weak else gpus)
