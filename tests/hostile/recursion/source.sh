echo '. ./f' >f
. ./f
