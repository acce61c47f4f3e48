// D_step: choices, loops, first statements, jumps inside.
byte x,y; chan q=[1] of {byte};
active proctype P() { d_step { if :: x==1 -> y=1 :: x==2 -> if :: y==1 -> x=1 :: else -> x=2 fi :: else -> skip fi; do :: x<4 -> x++ :: x>=4 -> break od }; d_step { x==1; y=1 }; do :: d_step { q?x -> y=x } :: d_step { q!1; y=2; goto L; x=1; L: x=2 } :: d_step { else -> x=9 } od }
