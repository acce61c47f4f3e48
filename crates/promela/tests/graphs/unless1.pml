// Unless in a loop, unless in unless, an escape that begins with a choice.
byte x,y;
active proctype P() { do :: { x++; y=1; x=2 } unless { y==1 -> y=0; x=5 } :: y==3 -> break od; { x=1; { y=1; y=2 } unless { x==3; y=7 }; x=9 } unless { if :: y==4 -> x=1 :: y==5 -> x=2 fi; x=0 } }
