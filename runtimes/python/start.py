"""Note what a process starts with, before the warm-up adds to it."""

import os


def open_descriptors():

    def is_open(descriptor):
        try:
            os.fstat(descriptor)
        except OSError:
            return False
        return True

    return [descriptor for descriptor in range(64) if is_open(descriptor)]


descriptors_at_start = open_descriptors()
environment_at_start = dict(os.environ)
