//! Deliberate mistakes, at least one for each rule. The tests must detect each of them.

macro_rules! mutants {
    ($($rule:literal: $($(#[$meta:meta])* $name:ident),+;)*) => {
        /// One deliberate mistake of the evaluator.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum Mutant { $($($(#[$meta])* $name,)+)* }

        impl Mutant {
            /// Every mistake, with the rule it breaks.
            pub const ALL: &'static [(Mutant, &'static str)] = &[$($((Mutant::$name, $rule),)+)*];
        }
    };
}

mutants! {
    "M-VALUE": ShortIsUnsigned;
    "M-STATE": BigEndian;
    "M-PROCESS": LocalsBackwards, LocationInOneByte;
    "M-CHANNEL": NewestMessageFirst;
    "M-LOCATION": JumpsNotFollowed;
    "M-ACTIVE": SixteenRegisters;
    "M-LIMITS": OneMoreOrLess;
    "M-INITIAL": InstancesBackwards;
    "A-ACT": ActivatesAtTheEntry;
    "I-LDC": ConstantsAreShort;
    "I-LDV": FirstLocalOnly;
    "I-STV": StoresWithoutTruncating;
    "I-LDX": IndexWraps;
    "I-STX": StxTakesTheValueFirst;
    "I-LDR": RemoteIgnoresTheType, RemoteIndexUnchecked;
    "I-CHK": ChkAllowsTheLength;
    "I-PUSH": PushEmptiesTheRegister;
    "I-POP": PopLeavesTheValue;
    "I-DROP": DropTakesTheOneBelow;
    "I-OP": AddSaturates, SubBackwards, LnotIsNot;
    "I-DIV": DivisionRoundsDown;
    "I-OVERFLOW": OverflowWraps;
    "I-RANGE": RangeAllowsOneMore;
    "I-SHIFT": WideShiftsGiveZero, ShrForgetsTheSign;
    "I-CMP": ComparesUnsigned;
    "I-JMP": JmpFallsThrough;
    "I-JMPZ": JmpzIsJmpnz;
    "I-NDET": NdetBackwards;
    "I-ELSE": UnansweredOffersSucceed, AnsweredOffersDoNotSucceed, AnswersSucceedWithoutReceiving;
    "I-UNLESS": UnlessTakesBoth;
    "I-CALL": CallSkipsOne;
    "I-RET": RetFallsThrough;
    "I-RUN": ParametersBackwards, NoPrologue;
    "I-PID": PidFromOne;
    "I-NRPR": NrprWithoutSelf;
    "I-LAST": LastIsNotRecorded, LastIsTheOneThatOffers, InvisibleStepsAreNotLast, DeterministicStepsAreLast;
    "I-ENABLED": EnabledNeverTimesOut, EnabledNests;
    "I-PCVAL": PcvalIsTheAddress;
    "I-AT": AtIgnoresTheType;
    "I-TIMEOUT": NeverTimeout;
    "I-NP": NpBackwards;
    "I-PRIO": PriorityZero, PriorityOfNobody;
    "I-CHNEW": ChannelsFromZero;
    "I-SEND": FullChannelsLose, FieldsUncounted, DeterministicOffers, AnswersMaySend, AnswersMayOffer;
    "I-SENDS": EqualIsLarger;
    "I-RECV": AnyTakesTheNewest, PeeksTake, PeeksReceiveOffers, AnswersReceiveElsewhere;
    "I-POLL": PollSeesOffers, PollSearches;
    "I-LEN": RendezvousIsFull, OffersHaveLength;
    "I-CLAIM": LaterClaimsWin, ClaimsUnchecked;
    "I-ASSERT": AssertionsAreFatal;
    "I-PRINT": PrintLeavesAValue;
    "E-STEP": LocationStays;
    "E-NEX": NexGoesOn;
    "E-NEXZ": NexzBackwards;
    "E-TERM": AnyProcessMayEnd, OwnedChannelsStay;
    "S-NORMAL": NormalKeepsThePrivilege;
    "S-ATOMIC": AtomicGivesNoPrivilege;
    "S-INVISIBLE": InvisibleIsNormal, BlockedKeepsThePrivilege;
    "S-DETERMINISTIC": DeterministicTriesAll, BlockedDeterministicEnds;
    "S-RENDEZVOUS": AnswersItself, OnlyTheFirstAnswers, OffererKeepsThePrivilege;
    "S-PRIVILEGE": PrivilegeIsNeverLost;
    "S-TIMEOUT": TimeoutGoesOn, TimeoutEndsWithAStep, AnswersTimeOut, PrivilegeOutlivesTimeout;
    "S-PRIORITY": PrioritiesIgnored, InvisibleIgnoresPriorities;
    "S-SCRATCH": ScratchStays;
    "S-END": OnlyLabelsEnd;
    "S-ENDLESS": EndlessInvisibleIsBlocked, EndlessDeterministicIsBlocked, LongSequencesAreEndless;
    "F-FATAL": FaultsDoNotSucceed;
    "F-CONTINUE": LastFaultIsCarried, FatalFaultsReplace;
}
