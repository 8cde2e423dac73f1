import io
import zipfile
out = io.BytesIO()
with zipfile.ZipFile(out, 'w', zipfile.ZIP_DEFLATED) as archive:
    for n in range(100):
        archive.writestr(str(n), bytes(10_000_000))
with zipfile.ZipFile(out) as archive:
    archive.extractall('out')
