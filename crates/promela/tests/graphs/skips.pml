// Which skips SPIN drops.
byte x;
active proctype P() { skip; skip; skip; x=1; if :: skip; skip; skip; x=2 :: true; printf("a"); skip; printf("b"); skip; x=3 :: x==1; skip; L: skip; skip; skip :: skip; skip fi; do :: x=1; skip; true; 1; break od; { skip; skip; skip; x=1 } }
