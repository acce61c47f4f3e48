// The public-key protocol of Needham and Schroeder, with Lowe's attack: the intruder I starts as an honest
// partner of A and makes B believe that it speaks to A.
// A message is encrypted for its first field. With -DFIXED, B's answer names B.
//
// expect: states=290 transitions=491 verdict=violated violation="assertion violated"

mtype = { A, B, I, Na, Nb, Ni, none };
mtype = { m1, m2, m3 };

// Kind of message, for whom it is encrypted, two contents, and a name (of the sender of m1, of B in the corrected m2).
chan net = [0] of { mtype, mtype, mtype, mtype, mtype };

mtype partner_a, partner_b;
bool done_a, done_b;
bool knows_na, knows_nb;

active proctype Alice() {
	mtype n, from;
	if
	:: partner_a = B
	:: partner_a = I
	fi;
	end_first: net!m1,partner_a,Na,none,A;
	end_wait: net?m2,eval(A),eval(Na),n,from;
#ifdef FIXED
	if
	:: from == partner_a
	:: from != partner_a -> end_stop: false
	fi;
#endif
	end_third: net!m3,partner_a,n,none,none;
	done_a = true
}

active proctype Bob() {
	mtype n;
	end_start: net?m1,eval(B),n,none,partner_b;
#ifdef FIXED
	end_answer: net!m2,partner_b,n,Nb,B;
#else
	end_answer: net!m2,partner_b,n,Nb,none;
#endif
	end_last: net?m3,eval(B),eval(Nb),none,none;
	done_b = true;
	assert(partner_b != A || partner_a == B)
}

active proctype Intruder() {
	mtype kind, key, x, y, z;
	mtype saved_kind = none, saved_key = none, saved_x = none, saved_y = none, saved_z = none;
	end: do
	:: net?kind,key,x,y,z ->
		d_step {
			if
			:: key == I ->
				if
				:: x == Na || y == Na -> knows_na = true
				:: else
				fi;
				if
				:: x == Nb || y == Nb -> knows_nb = true
				:: else
				fi
			:: else -> saved_kind = kind; saved_key = key; saved_x = x; saved_y = y; saved_z = z
			fi;
			kind = 0; key = 0; x = 0; y = 0; z = 0
		}
	:: saved_kind != none -> end_replay: net!saved_kind,saved_key,saved_x,saved_y,saved_z
	:: net!m1,B,Ni,none,I
	:: knows_na -> end_one: net!m1,B,Na,none,A
	:: knows_nb -> end_three: net!m3,B,Nb,none,none
	:: knows_na && knows_nb -> end_two: net!m2,A,Na,Nb,I
	od
}
