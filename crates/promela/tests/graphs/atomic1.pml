// Atomic sequences: choices, loops, jumps out, from one into another, nesting.
byte x,y;
active proctype P() { atomic { x=1; if :: x==1 -> y=1 :: x==2 -> y=2; x=3 fi }; atomic { do :: x<3 -> x++ :: else -> break od }; atomic { x=1; goto L; x=2 }; x=7; L: atomic { y=1; M: y=2; if :: y==2 -> goto N :: else fi }; N: x=3; atomic { y=3; goto M2 }; x=4; atomic { x=1; M2: x=2; x=3 } ; atomic { atomic { x=1; x=2 }; d_step { x=3; x=4 }; x=5 }; atomic { x=1; d_step { y=2; y=3 } }; atomic { x=2; { x=3; x=4 } } ; atomic { { x=1 } } }
