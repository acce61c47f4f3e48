// Unless with channels; an escape that jumps.
byte x,y; chan q=[0] of {byte}; chan r=[1] of {byte};
active proctype P() { { q!1; r!2; x=1 } unless { r?x -> y=2 }; { if :: x==1 -> y=1; x=2 :: else -> y=3 fi; do :: x<5 -> x++ :: else -> break od } unless { y==9 -> goto E }; E: x=0 }
active proctype Q() { byte z; end: do :: q?z :: r?z od }
