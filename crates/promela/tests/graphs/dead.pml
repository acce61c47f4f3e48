// False guards, jumps over code, break as guard.
byte x;
active proctype P() { if :: false -> x=1 :: x==1 -> x=2 :: 0 fi; if :: false fi; x=2 }
active proctype Q() { x=1; goto L; x=2; x=3; L: goto M; x=4; M: if :: goto N :: x==1 -> goto M :: break_: x==2 fi; N: skip; do :: break :: goto N :: x++ od; do :: do :: break od; x=1 :: x==1; do :: break :: break od od }
