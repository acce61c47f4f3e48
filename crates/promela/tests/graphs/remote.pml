// Labels that a claim looks at.
byte x;
active proctype P() { L: goto M; x=1; M: x=2; K: do :: x==1 -> N: goto K :: x==2 od }
never { do :: P@L :: P@N :: P[0]@M -> break :: else od }
