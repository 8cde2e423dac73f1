print(len([0] * (1 << 31)))
