ln -s a b; ln -s b a; ln -s . here
while :; do cat a here/here/here/a; ls -R here/; find . -follow; done >/dev/null 2>&1
