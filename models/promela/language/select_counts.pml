// select with many values, or with bounds that are not numbers, counts up.
//
// expect: states=312 transitions=311 verdict=holds

byte lo = 2;
byte x, y;
active proctype P() {
	select (x : 0 .. 39);
	if :: x > 3 -> goto done :: else fi;
	select (y : lo .. x + 3);
	assert(y >= 2);
done:	skip
}
