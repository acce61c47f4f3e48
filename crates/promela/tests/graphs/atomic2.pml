// Atomic options, choices in choices, inlines with labels.
byte x,y; chan q=[2] of {byte,byte};
inline foo(a,b) { a = b; if :: a==1 -> b=2 :: else fi; L: a++; goto L }
inline bar(v) { v=1; v=2 }
active proctype P() { byte i; atomic { bar(x); bar(y); x=3 }; if :: bar(x) :: x==2 -> bar(y) fi; do :: atomic { q?x,y -> i=1; break } :: atomic { q!x,y; i=2 } :: atomic { else -> i=3 } od; do :: if :: x==1 -> y=1 :: x==2 -> y=2 fi; i=4 :: do :: x==3 -> break :: y==3 -> goto Z od; i=5 :: { x==6 -> y=6 }; i=6 od; Z: foo(x,y) }
active proctype R() { byte a; foo(a,x); foo(y,x) }
