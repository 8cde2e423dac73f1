class Endless:
    def __getattr__(self, name):
        return getattr(self, name + 'x')

Endless().x
