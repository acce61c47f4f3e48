// Loops and jumps are fine inside a d_step as long as they stay there.
//
// expect: states=4 transitions=3 verdict=holds

byte i, sum, rounds;
active proctype P() {
	d_step {
		rounds = 0;
again:		i = 0;
		do
		:: i < 5 -> i++; sum = sum + i
		:: i >= 5 -> break
		od;
		rounds++;
		if
		:: rounds < 3 -> goto again
		:: else
		fi;
		sum++
	};
	assert(sum == 46)
}
