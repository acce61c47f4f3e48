// Declarations in the middle of bodies.
chan qq=[1] of {byte};
typedef T { byte a; int b };
byte x;
active proctype P(byte p; T t) { xr qq; byte a=1; int b; x=1; byte c; T u; { byte d=2, e; d=e; byte arr[3]; short s = x+1 }; if :: x==1 -> byte f=3; f=4 :: else -> byte g; g=1 fi; atomic { byte h; h=1 }; d_step { byte k=2; k=3 }; u.a=1 }
