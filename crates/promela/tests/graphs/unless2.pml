// Unless around single statements, loops, atomic sequences, labelled blocks.
byte x,y;
active proctype P() { x=1 unless y==2; do :: x=1 :: y=2 -> x=3 od unless { y==5 -> x=1 }; atomic { x=2; y=3; x=4 } unless { atomic { y==9 -> x=1; x=2 } }; L: { x=3; x=4 } unless { y==1; goto L }; M: atomic { x=5; x=6 } unless { x==1 } }
