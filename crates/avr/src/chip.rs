//! The devices: memories, registers, interrupt sources, by their data sheets.
//!
//! Addresses are those of the data space. An address that is not in these tables is memory without
//! behaviour: a program can write it and read it back.

/// How a register of a device is read and written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// It keeps the value that is written.
    Plain,
    /// The levels of pins. The numbers are the addresses of the direction and of the output.
    Pins { ddr: u16, port: u16 },
    /// Interrupt flags: each is raised by its source, and cleared by writing a one.
    Flags,
    /// A counter that runs: any value can be read.
    Counter,
    /// A byte of a register of 16 bits of a timer. The high byte is written to [`LATCH`], and the
    /// low byte takes it from there. `latched` says that reads go the same way.
    Half { high: bool, latched: bool },
    /// Data of the serial port.
    Serial,
    /// State of the serial port: flags, and bits that keep what is written.
    SerialState,
    /// Control of the converter, with the bit that is set while it is busy.
    Converter,
    /// A byte of the converter's result.
    Sample,
    /// Control of the EEPROM.
    Eeprom,
    /// A byte from outside: any value can be read, and writes go nowhere.
    Received,
    /// Data of the serial peripheral interface. An access clears the flag of the interface.
    Exchanged,
    /// State of that interface: its flag, a collision, and a bit that keeps what is written.
    ExchangeState,
    /// Control of the two-wire interface: its flag, which is cleared by writing a one, a bit that
    /// the device clears, and bits that keep what is written.
    Bus,
    /// Control of the analogue comparator: its output, its flag, and bits that keep what is
    /// written.
    Comparator,
    /// These bits are inputs; the others keep what is written.
    Mixed { inputs: u8 },
    /// The stack pointer, low byte or high byte.
    Stack { high: bool },
    /// The status register.
    Status,
}

/// The byte that all registers of 16 bits of a timer share (TEMP). It has no address; this number
/// stands for it.
pub const LATCH: u16 = 0xffff;

/// The content of [`LATCH`] after the counter was read: any value, which is chosen when it is used.
pub const ANY: i32 = 0x100;

impl Kind {
    /// Whether the values that are read come from outside alone, so that a user can choose them.
    pub fn is_input(self) -> bool {
        matches!(
            self,
            Kind::Pins { .. }
                | Kind::Counter
                | Kind::Half { latched: true, .. }
                | Kind::Serial
                | Kind::Sample
                | Kind::Received
                | Kind::Exchanged
        )
    }

    /// The bits that the device sets in a register whose other bits keep what is written. `None`
    /// for a register of another kind.
    pub fn set_by_device(self) -> Option<u8> {
        match self {
            Kind::Plain | Kind::Eeprom => Some(0),
            Kind::Converter => Some(0x50),
            Kind::ExchangeState => Some(0xc0),
            Kind::Bus => Some(0x88),
            Kind::Comparator => Some(0x30),
            Kind::Mixed { inputs } => Some(inputs),
            _ => None,
        }
    }
}

/// A register of a device.
#[derive(Clone, Copy, Debug)]
pub struct Register {
    pub name: &'static str,
    pub addr: u16,
    pub kind: Kind,
}

/// A source of interrupts.
#[derive(Clone, Copy, Debug)]
pub struct Source {
    /// The number of its vector.
    pub vector: u8,
    pub name: &'static str,
    /// The register and the bit that enable it.
    pub mask: (u16, u8),
    /// The register and the bit of its flag; `None` if it has no flag that a program can see.
    pub flag: Option<(u16, u8)>,
    /// The device works if one of these bits is set.
    pub needs: Option<(u16, u8)>,
    /// Whether executing the handler clears the flag.
    pub clears: bool,
    /// For an external interrupt: the pins that raise it.
    pub pins: Option<Pins>,
}

/// The pins that raise an external interrupt, and how. The registers of direction and level are
/// directly before the output register.
#[derive(Clone, Copy, Debug)]
pub struct Pins {
    /// The output register of the port.
    pub port: u16,
    pub edge: Edge,
}

/// The event at a pin that raises an interrupt.
#[derive(Clone, Copy, Debug)]
pub enum Edge {
    /// Two bits of a register, from this one on, select the event at pin number `pin`: 0 the low
    /// level, 1 a change, 2 a falling edge, 3 a rising edge.
    Mode { pin: u8, register: u16, bit: u8 },
    /// One bit selects the event: 0 a falling edge, 1 a rising edge.
    Rising { pin: u8, register: u16, bit: u8 },
    /// A change of a pin whose bit is set in this register.
    Change { mask: u16 },
}

impl Edge {
    /// The register that selects the event.
    pub fn register(self) -> u16 {
        match self {
            Edge::Mode { register, .. } | Edge::Rising { register, .. } => register,
            Edge::Change { mask } => mask,
        }
    }
}

/// A device.
#[derive(Debug)]
pub struct Chip {
    pub name: &'static str,
    /// Words of flash; a power of two.
    pub flash: u32,
    /// The first address of SRAM, and the last.
    pub ram: (u16, u16),
    pub eeprom: u16,
    pub vectors: u8,
    pub registers: &'static [Register],
    pub sources: &'static [Source],
    /// The register and the bit without which SLEEP does nothing.
    pub sleep: (u16, u8),
    /// The register and the bits that select the sleep mode.
    pub sleep_mode: (u16, u8),
    /// The values of these bits for the modes other than idle.
    pub depths: &'static [(u8, Depth)],
    /// The register and the bit with which timer 2 has a clock of its own.
    pub own_clock: (u16, u8),
    /// The register and the bits that switch the watchdog on.
    pub watchdog: (u16, u8),
    /// The bits of that register with which the watchdog interrupts, and those that are set after
    /// it has reset the device.
    pub watchdog_interrupts: u8,
    pub watchdog_after: u8,
    /// The register that gives the reason of a reset; bit 3 means the watchdog.
    pub reset_reason: u16,
    /// EECR; data and address registers follow it.
    pub eecr: u16,
    /// Whether two bits of EECR choose between erasing and writing.
    pub erases_alone: bool,
    /// State of the serial port.
    pub ucsra: u16,
    /// State of the serial peripheral interface.
    pub spsr: u16,
    /// The low byte of the counter of 16 bits; the high byte follows it.
    pub counter: u16,
    /// The low byte of the captured value; the high byte follows it. And the registers that select
    /// the mode of the timer.
    pub capture: u16,
    pub timer_mode: (u16, u16),
    /// Control of the converter, and the register whose bit 5 says that results are left-adjusted.
    pub adcsra: u16,
    pub admux: u16,
    /// The register and the bits that select what begins a conversion; zero for the conversion
    /// before.
    pub trigger: (u16, u8),
}

/// A sleep mode other than idle: what still works in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Depth {
    /// The converter and the memories, what works in power-down, and timer 2 with its own clock.
    Converter = 1,
    /// Levels and changes of pins, the address match of the two-wire interface, the watchdog.
    PowerDown = 2,
    /// The same, and timer 2.
    PowerSave = 3,
}

/// All depths.
pub const DEPTHS: [Depth; 3] = [Depth::Converter, Depth::PowerDown, Depth::PowerSave];

/// How a source can wake the processor from a sleep mode other than idle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Wakes {
    Never,
    Always,
    /// Only if the interrupt is raised by a low level: bits of this register, from this one on, are
    /// zero.
    Level(u16, u8),
    /// Only if timer 2 has a clock of its own.
    OwnClock,
}

impl Source {
    /// How it wakes the processor of a device.
    pub fn wakes(&self, chip: &Chip, depth: Depth) -> Wakes {
        if let Some(pins) = self.pins {
            return match pins.edge {
                Edge::Mode { register, bit, .. } => Wakes::Level(register, bit),
                Edge::Rising { .. } | Edge::Change { .. } => Wakes::Always,
            };
        }
        let is_timer_2 = self.name.starts_with("TIMER2");
        // On the older device, timer 2 sleeps too unless it has a clock of its own.
        let keeps_clock = depth == Depth::PowerSave && chip.erases_alone;
        match (self.name, depth) {
            ("WDT" | "TWI", _) => Wakes::Always,
            ("ADC" | "EE_READY" | "EE_RDY" | "SPM_READY" | "SPM_RDY", Depth::Converter) => Wakes::Always,
            (_, Depth::Converter | Depth::PowerSave) if is_timer_2 && !keeps_clock => Wakes::OwnClock,
            (_, Depth::PowerSave) if is_timer_2 => Wakes::Always,
            _ => Wakes::Never,
        }
    }
}

const fn plain(name: &'static str, addr: u16) -> Register {
    Register { name, addr, kind: Kind::Plain }
}

const fn reg(name: &'static str, addr: u16, kind: Kind) -> Register {
    Register { name, addr, kind }
}

const fn half(name: &'static str, addr: u16, high: bool, latched: bool) -> Register {
    Register { name, addr, kind: Kind::Half { high, latched } }
}

const fn pins(name: &'static str, addr: u16) -> Register {
    Register { name, addr, kind: Kind::Pins { ddr: addr + 1, port: addr + 2 } }
}

const fn source(vector: u8, name: &'static str, mask: (u16, u8), flag: Option<(u16, u8)>, needs: Option<(u16, u8)>) -> Source {
    Source { vector, name, mask, flag, needs, clears: true, pins: None }
}

const fn level(vector: u8, name: &'static str, mask: (u16, u8), flag: Option<(u16, u8)>, needs: Option<(u16, u8)>) -> Source {
    Source { vector, name, mask, flag, needs, clears: false, pins: None }
}

const fn external(vector: u8, name: &'static str, mask: (u16, u8), flag: (u16, u8), port: u16, edge: Edge) -> Source {
    Source { vector, name, mask, flag: Some(flag), needs: None, clears: true, pins: Some(Pins { port, edge }) }
}

const fn mode(pin: u8, register: u16, bit: u8) -> Edge {
    Edge::Mode { pin, register, bit }
}

/// The ATmega328P (and with other sizes 48, 88 and 168).
pub static ATMEGA328P: Chip = Chip {
    name: "atmega328p",
    flash: 0x4000,
    ram: (0x100, 0x8ff),
    eeprom: 1024,
    vectors: 26,
    registers: &[
        pins("PINB", 0x23),
        plain("DDRB", 0x24),
        plain("PORTB", 0x25),
        pins("PINC", 0x26),
        plain("DDRC", 0x27),
        plain("PORTC", 0x28),
        pins("PIND", 0x29),
        plain("DDRD", 0x2a),
        plain("PORTD", 0x2b),
        reg("TIFR0", 0x35, Kind::Flags),
        reg("TIFR1", 0x36, Kind::Flags),
        reg("TIFR2", 0x37, Kind::Flags),
        reg("PCIFR", 0x3b, Kind::Flags),
        reg("EIFR", 0x3c, Kind::Flags),
        plain("EIMSK", 0x3d),
        plain("GPIOR0", 0x3e),
        reg("EECR", 0x3f, Kind::Eeprom),
        plain("EEDR", 0x40),
        plain("EEARL", 0x41),
        plain("EEARH", 0x42),
        plain("GTCCR", 0x43),
        plain("TCCR0A", 0x44),
        plain("TCCR0B", 0x45),
        reg("TCNT0", 0x46, Kind::Counter),
        plain("OCR0A", 0x47),
        plain("OCR0B", 0x48),
        plain("GPIOR1", 0x4a),
        plain("GPIOR2", 0x4b),
        plain("SPCR", 0x4c),
        reg("SPSR", 0x4d, Kind::ExchangeState),
        reg("SPDR", 0x4e, Kind::Exchanged),
        reg("ACSR", 0x50, Kind::Comparator),
        plain("SMCR", 0x53),
        plain("MCUSR", 0x54),
        plain("MCUCR", 0x55),
        plain("SPMCSR", 0x57),
        reg("SPL", 0x5d, Kind::Stack { high: false }),
        reg("SPH", 0x5e, Kind::Stack { high: true }),
        reg("SREG", 0x5f, Kind::Status),
        plain("WDTCSR", 0x60),
        plain("CLKPR", 0x61),
        plain("PRR", 0x64),
        plain("PCICR", 0x68),
        plain("EICRA", 0x69),
        plain("PCMSK0", 0x6b),
        plain("PCMSK1", 0x6c),
        plain("PCMSK2", 0x6d),
        plain("TIMSK0", 0x6e),
        plain("TIMSK1", 0x6f),
        plain("TIMSK2", 0x70),
        reg("ADCL", 0x78, Kind::Sample),
        reg("ADCH", 0x79, Kind::Sample),
        reg("ADCSRA", 0x7a, Kind::Converter),
        plain("ADCSRB", 0x7b),
        plain("ADMUX", 0x7c),
        plain("DIDR0", 0x7e),
        plain("DIDR1", 0x7f),
        plain("TCCR1A", 0x80),
        plain("TCCR1B", 0x81),
        plain("TCCR1C", 0x82),
        reg("TCNT1L", 0x84, Kind::Counter),
        reg("TCNT1H", 0x85, Kind::Counter),
        half("ICR1L", 0x86, false, true),
        half("ICR1H", 0x87, true, true),
        half("OCR1AL", 0x88, false, false),
        half("OCR1AH", 0x89, true, false),
        half("OCR1BL", 0x8a, false, false),
        half("OCR1BH", 0x8b, true, false),
        plain("TCCR2A", 0xb0),
        plain("TCCR2B", 0xb1),
        reg("TCNT2", 0xb2, Kind::Counter),
        plain("OCR2A", 0xb3),
        plain("OCR2B", 0xb4),
        reg("ASSR", 0xb6, Kind::Mixed { inputs: 0x1f }),
        plain("TWBR", 0xb8),
        reg("TWSR", 0xb9, Kind::Mixed { inputs: 0xf8 }),
        plain("TWAR", 0xba),
        reg("TWDR", 0xbb, Kind::Received),
        reg("TWCR", 0xbc, Kind::Bus),
        plain("TWAMR", 0xbd),
        reg("UCSR0A", 0xc0, Kind::SerialState),
        plain("UCSR0B", 0xc1),
        plain("UCSR0C", 0xc2),
        plain("UBRR0L", 0xc4),
        plain("UBRR0H", 0xc5),
        reg("UDR0", 0xc6, Kind::Serial),
    ],
    sources: &[
        external(1, "INT0", (0x3d, 0), (0x3c, 0), 0x2b, mode(2, 0x69, 0)),
        external(2, "INT1", (0x3d, 1), (0x3c, 1), 0x2b, mode(3, 0x69, 2)),
        external(3, "PCINT0", (0x68, 0), (0x3b, 0), 0x25, Edge::Change { mask: 0x6b }),
        external(4, "PCINT1", (0x68, 1), (0x3b, 1), 0x28, Edge::Change { mask: 0x6c }),
        external(5, "PCINT2", (0x68, 2), (0x3b, 2), 0x2b, Edge::Change { mask: 0x6d }),
        source(6, "WDT", (0x60, 6), None, None),
        source(7, "TIMER2_COMPA", (0x70, 1), Some((0x37, 1)), Some((0xb1, 7))),
        source(8, "TIMER2_COMPB", (0x70, 2), Some((0x37, 2)), Some((0xb1, 7))),
        source(9, "TIMER2_OVF", (0x70, 0), Some((0x37, 0)), Some((0xb1, 7))),
        source(10, "TIMER1_CAPT", (0x6f, 5), Some((0x36, 5)), Some((0x81, 7))),
        source(11, "TIMER1_COMPA", (0x6f, 1), Some((0x36, 1)), Some((0x81, 7))),
        source(12, "TIMER1_COMPB", (0x6f, 2), Some((0x36, 2)), Some((0x81, 7))),
        source(13, "TIMER1_OVF", (0x6f, 0), Some((0x36, 0)), Some((0x81, 7))),
        source(14, "TIMER0_COMPA", (0x6e, 1), Some((0x35, 1)), Some((0x45, 7))),
        source(15, "TIMER0_COMPB", (0x6e, 2), Some((0x35, 2)), Some((0x45, 7))),
        source(16, "TIMER0_OVF", (0x6e, 0), Some((0x35, 0)), Some((0x45, 7))),
        source(17, "SPI_STC", (0x4c, 7), Some((0x4d, 7)), Some((0x4c, 0x40))),
        level(18, "USART_RX", (0xc1, 7), Some((0xc0, 7)), Some((0xc1, 0x10))),
        level(19, "USART_UDRE", (0xc1, 5), Some((0xc0, 5)), None),
        source(20, "USART_TX", (0xc1, 6), Some((0xc0, 6)), Some((0xc1, 0x08))),
        source(21, "ADC", (0x7a, 3), Some((0x7a, 4)), Some((0x7a, 0x60))),
        level(22, "EE_READY", (0x3f, 3), None, None),
        source(23, "ANALOG_COMP", (0x50, 3), Some((0x50, 4)), None),
        level(24, "TWI", (0xbc, 0), Some((0xbc, 7)), Some((0xbc, 0x04))),
        level(25, "SPM_READY", (0x57, 7), None, None),
    ],
    sleep: (0x53, 0),
    sleep_mode: (0x53, 0x0e),
    depths: &[
        (0x02, Depth::Converter),
        (0x04, Depth::PowerDown),
        (0x06, Depth::PowerSave),
        (0x0c, Depth::PowerDown),
        (0x0e, Depth::PowerSave),
    ],
    own_clock: (0xb6, 5),
    watchdog: (0x60, 0x48),
    watchdog_interrupts: 0x40,
    watchdog_after: 0x08,
    reset_reason: 0x54,
    eecr: 0x3f,
    erases_alone: true,
    ucsra: 0xc0,
    spsr: 0x4d,
    counter: 0x84,
    capture: 0x86,
    timer_mode: (0x80, 0x81),
    adcsra: 0x7a,
    admux: 0x7c,
    trigger: (0x7b, 0x07),
};

/// The ATmega16.
pub static ATMEGA16: Chip = Chip {
    name: "atmega16",
    flash: 0x2000,
    ram: (0x60, 0x45f),
    eeprom: 512,
    vectors: 21,
    registers: &[
        plain("TWBR", 0x20),
        reg("TWSR", 0x21, Kind::Mixed { inputs: 0xf8 }),
        plain("TWAR", 0x22),
        reg("TWDR", 0x23, Kind::Received),
        reg("ADCL", 0x24, Kind::Sample),
        reg("ADCH", 0x25, Kind::Sample),
        reg("ADCSRA", 0x26, Kind::Converter),
        plain("ADMUX", 0x27),
        reg("ACSR", 0x28, Kind::Comparator),
        plain("UBRRL", 0x29),
        plain("UCSRB", 0x2a),
        reg("UCSRA", 0x2b, Kind::SerialState),
        reg("UDR", 0x2c, Kind::Serial),
        plain("SPCR", 0x2d),
        reg("SPSR", 0x2e, Kind::ExchangeState),
        reg("SPDR", 0x2f, Kind::Exchanged),
        pins("PIND", 0x30),
        plain("DDRD", 0x31),
        plain("PORTD", 0x32),
        pins("PINC", 0x33),
        plain("DDRC", 0x34),
        plain("PORTC", 0x35),
        pins("PINB", 0x36),
        plain("DDRB", 0x37),
        plain("PORTB", 0x38),
        pins("PINA", 0x39),
        plain("DDRA", 0x3a),
        plain("PORTA", 0x3b),
        reg("EECR", 0x3c, Kind::Eeprom),
        plain("EEDR", 0x3d),
        plain("EEARL", 0x3e),
        plain("EEARH", 0x3f),
        plain("UBRRH", 0x40),
        plain("WDTCR", 0x41),
        reg("ASSR", 0x42, Kind::Mixed { inputs: 0x07 }),
        plain("OCR2", 0x43),
        reg("TCNT2", 0x44, Kind::Counter),
        plain("TCCR2", 0x45),
        half("ICR1L", 0x46, false, true),
        half("ICR1H", 0x47, true, true),
        half("OCR1BL", 0x48, false, false),
        half("OCR1BH", 0x49, true, false),
        half("OCR1AL", 0x4a, false, false),
        half("OCR1AH", 0x4b, true, false),
        reg("TCNT1L", 0x4c, Kind::Counter),
        reg("TCNT1H", 0x4d, Kind::Counter),
        plain("TCCR1B", 0x4e),
        plain("TCCR1A", 0x4f),
        plain("SFIOR", 0x50),
        reg("TCNT0", 0x52, Kind::Counter),
        plain("TCCR0", 0x53),
        plain("MCUCSR", 0x54),
        plain("MCUCR", 0x55),
        reg("TWCR", 0x56, Kind::Bus),
        plain("SPMCR", 0x57),
        reg("TIFR", 0x58, Kind::Flags),
        plain("TIMSK", 0x59),
        reg("GIFR", 0x5a, Kind::Flags),
        plain("GICR", 0x5b),
        plain("OCR0", 0x5c),
        reg("SPL", 0x5d, Kind::Stack { high: false }),
        reg("SPH", 0x5e, Kind::Stack { high: true }),
        reg("SREG", 0x5f, Kind::Status),
    ],
    sources: &[
        external(1, "INT0", (0x5b, 6), (0x5a, 6), 0x32, mode(2, 0x55, 0)),
        external(2, "INT1", (0x5b, 7), (0x5a, 7), 0x32, mode(3, 0x55, 2)),
        source(3, "TIMER2_COMP", (0x59, 7), Some((0x58, 7)), Some((0x45, 7))),
        source(4, "TIMER2_OVF", (0x59, 6), Some((0x58, 6)), Some((0x45, 7))),
        source(5, "TIMER1_CAPT", (0x59, 5), Some((0x58, 5)), Some((0x4e, 7))),
        source(6, "TIMER1_COMPA", (0x59, 4), Some((0x58, 4)), Some((0x4e, 7))),
        source(7, "TIMER1_COMPB", (0x59, 3), Some((0x58, 3)), Some((0x4e, 7))),
        source(8, "TIMER1_OVF", (0x59, 2), Some((0x58, 2)), Some((0x4e, 7))),
        source(9, "TIMER0_OVF", (0x59, 0), Some((0x58, 0)), Some((0x53, 7))),
        source(10, "SPI_STC", (0x2d, 7), Some((0x2e, 7)), Some((0x2d, 0x40))),
        level(11, "USART_RXC", (0x2a, 7), Some((0x2b, 7)), Some((0x2a, 0x10))),
        level(12, "USART_UDRE", (0x2a, 5), Some((0x2b, 5)), None),
        source(13, "USART_TXC", (0x2a, 6), Some((0x2b, 6)), Some((0x2a, 0x08))),
        source(14, "ADC", (0x26, 3), Some((0x26, 4)), Some((0x26, 0x60))),
        level(15, "EE_RDY", (0x3c, 3), None, None),
        source(16, "ANA_COMP", (0x28, 3), Some((0x28, 4)), None),
        level(17, "TWI", (0x56, 0), Some((0x56, 7)), Some((0x56, 0x04))),
        external(18, "INT2", (0x5b, 5), (0x5a, 5), 0x38, Edge::Rising { pin: 2, register: 0x54, bit: 6 }),
        source(19, "TIMER0_COMP", (0x59, 1), Some((0x58, 1)), Some((0x53, 7))),
        level(20, "SPM_RDY", (0x57, 7), None, None),
    ],
    sleep: (0x55, 6),
    sleep_mode: (0x55, 0xb0),
    depths: &[
        (0x10, Depth::Converter),
        (0x20, Depth::PowerDown),
        (0x30, Depth::PowerSave),
        (0xa0, Depth::PowerDown),
        (0xb0, Depth::PowerSave),
    ],
    own_clock: (0x42, 3),
    watchdog: (0x41, 0x08),
    watchdog_interrupts: 0,
    watchdog_after: 0,
    reset_reason: 0x54,
    eecr: 0x3c,
    erases_alone: false,
    ucsra: 0x2b,
    spsr: 0x2e,
    counter: 0x4c,
    capture: 0x46,
    timer_mode: (0x4f, 0x4e),
    adcsra: 0x26,
    admux: 0x27,
    trigger: (0x50, 0xe0),
};

/// All devices.
pub static CHIPS: [&Chip; 2] = [&ATMEGA328P, &ATMEGA16];

impl Chip {
    /// The device with this name, in the form of the compiler's `-mmcu`.
    pub fn named(name: &str) -> Option<&'static Chip> {
        let name = name.to_ascii_lowercase();
        let name = if name == "atmega328" {
            "atmega328p"
        } else if name == "atmega16a" {
            "atmega16"
        } else {
            &name
        };
        CHIPS.into_iter().find(|chip| chip.name == name)
    }

    /// The register at an address of the data space.
    pub fn register(&self, addr: u16) -> Option<&'static Register> {
        self.registers.iter().find(|register| register.addr == addr)
    }

    /// Whether an address belongs to a register of a device, known or not.
    pub fn is_io(&self, addr: u16) -> bool {
        (0x20..self.ram.0).contains(&addr)
    }

    /// The source whose flag is this bit of a register.
    pub fn source_of(&self, addr: u16, bit: u8) -> Option<&'static Source> {
        self.sources.iter().find(|source| source.flag == Some((addr, bit)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_in_order_and_refer_to_known_registers() {
        for chip in CHIPS {
            assert!(chip.registers.is_sorted_by_key(|register| register.addr));
            assert!(chip.sources.is_sorted_by_key(|source| source.vector));
            assert!(chip.sources.iter().all(|source| source.vector < chip.vectors));
            for source in chip.sources {
                assert!(chip.register(source.mask.0).is_some(), "{}", source.name);
                assert!(source.flag.is_none_or(|(addr, _)| chip.register(addr).is_some()), "{}", source.name);
                if let Some(pins) = source.pins {
                    assert!(chip.register(pins.edge.register()).is_some(), "{}", source.name);
                    let levels = chip.register(pins.port - 2).map(|register| register.kind);
                    assert_eq!(levels, Some(Kind::Pins { ddr: pins.port - 1, port: pins.port }), "{}", source.name);
                }
            }
        }
    }
}
