
echo before
if true; then
echo inside
