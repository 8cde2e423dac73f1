class Phoenix:
    def __del__(self):
        global kept
        kept = self
        Phoenix()
        while True:
            pass

Phoenix()
