
x="a*b"; echo "${x%"*b"}" "${x%\*b}"
