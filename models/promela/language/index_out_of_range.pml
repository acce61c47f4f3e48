// An index outside its array is an error.
//
// expect: states=3 transitions=2 verdict=violated violation="invalid array index"

byte a[3];
active proctype P() {
	byte i = 2;
	a[i] = 1;
	i++;
	a[i] = 2
}
