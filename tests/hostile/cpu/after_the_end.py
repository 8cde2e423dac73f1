# The script ends; what it registered does not.
import atexit

@atexit.register
def again():
    while True:
        pass
