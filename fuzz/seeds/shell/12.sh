
p="*."; x=a.b.c; echo ${x#$p} ${x#"$p"}
