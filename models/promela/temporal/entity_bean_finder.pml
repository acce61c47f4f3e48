// As `entity_bean`, with the second client of the study, which finds a bean and does not create one.
//
// expect: creates=holds completes=holds removes=violated answers=violated
// expect weak: creates=holds completes=holds removes=violated answers=holds

mtype = { create, find, business, remove, value, failed, sync, passivate };
mtype = { ejbCreate, ejbPostCreate, ejbActivate, ejbPassivate, ejbLoad, ejbStore, ejbBusiness, ejbRemove };

chan remote = [1] of { mtype };
chan request = [1] of { mtype };
chan reply = [1] of { mtype };
chan method = [1] of { mtype };
chan result = [1] of { mtype };
chan service = [0] of { mtype };

active proctype Bean() {
end:	do
	:: method?_ -> if :: result!value :: result!failed fi
	od
}

#define call(name, if_it_fails) method!name; if :: result?value :: result?failed -> goto if_it_fails fi

active proctype Container() {
end_pooled:
	do
	:: request?create -> call(ejbCreate, answer); call(ejbPostCreate, answer); reply!value; goto end_ready
	:: request?find -> reply!value
	:: request?[business] -> call(ejbActivate, end_stopped); call(ejbLoad, end_stopped); goto end_ready
	:: request?remove -> reply!failed
	od;
end_ready:
	do
	:: request?business -> call(ejbBusiness, answer); reply!value
	:: request?remove -> call(ejbRemove, answer); reply!value; goto end_pooled
	:: service?sync -> call(ejbStore, end_stopped); call(ejbLoad, end_stopped)
	:: service?passivate -> call(ejbStore, end_stopped); call(ejbPassivate, end_stopped); goto end_pooled
	od;
answer:
	reply!failed;
end_stopped:
	do
	:: request?_ -> reply!failed
	od
}

active proctype Service() {
end:	do
	:: atomic { empty(request) -> end_sync: service!sync }
	:: atomic { empty(request) -> end_passivate: service!passivate }
	od
}

active proctype Object() {
	mtype what;
end:	do
	:: remote?what -> request!what
	od
}

active proctype Client() {
	remote!find;
	if
	:: reply?value
	:: reply?failed -> goto end_client
	fi;
	do
	:: remote!business; if :: reply?value :: reply?failed -> goto end_client fi
	:: remote!remove; reply?_; goto end_client
	od;
end_client:
	skip
}

#define Called(m) remote?[m]
#define Bean(m) method?[m]

ltl creates { [] (Called(create) -> <> Bean(ejbCreate)) }
ltl completes { [] (Called(create) -> <> (Bean(ejbCreate) && <> Bean(ejbPostCreate))) }
ltl removes { [] (Called(remove) -> <> Bean(ejbRemove)) }
ltl answers { [] (Called(business) -> <> (Bean(ejbBusiness) || reply?[failed])) }
