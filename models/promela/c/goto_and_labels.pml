// Jumps inside fragments and inside functions: forward, backward, and out of a loop.
//
// expect: states=407 transitions=856 verdict=holds

c_code {
	static int digits(int n)
	{
		int count = 0;
again:
		count++;
		n /= 10;
		if (n > 0)
			goto again;
		return count;
	}
}

short value = 1;
byte found, steps;

active [2] proctype P() {
	do
	:: c_expr { now.value < 900 } -> c_code {
		now.value = now.value * 3 + 1;
		now.found = digits(now.value);
	}
	:: steps < 2 -> c_code {
		int i, j;
		for (i = 0; i < 5; i++)
			for (j = 0; j < 5; j++)
				if (i * j == 6)
					goto out;
	out:
		now.steps += 1;
		now.found = i + j;
		goto end;
		now.found = 99;
	end:	;
	}
	:: c_expr { now.value >= 900 && now.steps >= 2 } -> break
	od
}
