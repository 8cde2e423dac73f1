exec('lambda: ' * 50_000 + '0')
