// Three levels of unless; d_step as main part and as escape.
byte x,y;
active proctype P() { { { { x=1; x=2 } unless { y==1 -> x=3; x=4 }; x=5 } unless { y==2 -> x=6; x=7 }; x=8 } unless { y==3 -> x=9; x=10 }; d_step { x=1; x=2 } unless { y==6 }; { d_step { x=1; x=2 }; d_step { y=1; y=2 } } unless { d_step { y==6; x=1 } } }
