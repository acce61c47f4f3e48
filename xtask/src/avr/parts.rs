//! The devices as random firmware uses them: names of registers, statements that configure an
//! interrupt, inputs.

/// An interrupt that a random program may have a handler for.
pub struct Interrupt {
    pub vector: u8,
    pub handler: &'static str,
    /// Statements that make the device work, enable and disable its interrupt, and stop the device.
    pub setup: &'static str,
    pub on: &'static str,
    pub off: &'static str,
    pub stop: &'static str,
    /// A statement with which a handler usually begins.
    pub reads: &'static str,
}

/// A device.
pub struct Device {
    pub name: &'static str,
    /// A register without behaviour.
    pub plain: &'static str,
    pub interrupts: &'static [Interrupt],
    /// Registers that are inputs.
    pub inputs: [&'static str; 4],
    /// Conditions on flags.
    pub flags: [&'static str; 4],
    /// Statements that clear flags.
    pub clears: [&'static str; 3],
    /// Statements that change how inputs are read, or have effects on flags.
    pub adjusts: [&'static str; 3],
    /// Registers of 16 bits.
    pub wide: &'static str,
    pub second_wide: &'static str,
    /// The register and the bit that enable sleep.
    pub sleep: (&'static str, u8),
    /// Statements that switch the watchdog on and off, and the register with the reason of a reset.
    pub watchdog: (&'static str, &'static str, &'static str),
    /// The bits of inputs that programs look at, by address.
    pub looked_at: &'static [(u16, u8)],
    pub registers: &'static [(&'static str, u16)],
}

impl Device {
    /// The address of a register.
    pub fn address(&self, name: &str) -> u16 {
        self.registers.iter().find(|(known, _)| *known == name).map_or(0, |(_, address)| *address)
    }
}

const fn interrupt(
    vector: u8,
    handler: &'static str,
    setup: &'static str,
    on: &'static str,
    off: &'static str,
    stop: &'static str,
    reads: &'static str,
) -> Interrupt {
    Interrupt { vector, handler, setup, on, off, stop, reads }
}

/// The ATmega328P.
pub static NEW: Device = Device {
    name: "atmega328p",
    plain: "GPIOR0",
    interrupts: &[
        interrupt(16, "TIMER0_OVF_vect", "TCCR0B = 1;", "TIMSK0 |= 1;", "TIMSK0 &= ~1;", "TCCR0B = 0;", ""),
        interrupt(14, "TIMER0_COMPA_vect", "TCCR0B = 1;", "TIMSK0 |= 2;", "TIMSK0 &= ~2;", "TCCR0B = 0;", ""),
        interrupt(15, "TIMER0_COMPB_vect", "TCCR0B = 1;", "TIMSK0 |= 4;", "TIMSK0 &= ~4;", "TCCR0B = 0;", ""),
        interrupt(12, "TIMER1_COMPB_vect", "TCCR1B = 1;", "TIMSK1 |= 4;", "TIMSK1 &= ~4;", "TCCR1B = 0;", ""),
        interrupt(10, "TIMER1_CAPT_vect", "TCCR1B = 1;", "TIMSK1 |= 0x20;", "TIMSK1 &= ~0x20;", "TCCR1B = 0;", ""),
        interrupt(8, "TIMER2_COMPB_vect", "TCCR2B = 1;", "TIMSK2 |= 4;", "TIMSK2 &= ~4;", "TCCR2B = 0;", ""),
        interrupt(22, "EE_READY_vect", "EECR |= 0;", "EECR |= 8;", "EECR &= ~8;", "EECR &= ~8;", ""),
        interrupt(13, "TIMER1_OVF_vect", "TCCR1B = 1;", "TIMSK1 |= 1;", "TIMSK1 &= ~1;", "TCCR1B = 0;", ""),
        interrupt(11, "TIMER1_COMPA_vect", "TCCR1B = 1;", "TIMSK1 |= 2;", "TIMSK1 &= ~2;", "TCCR1B = 0;", ""),
        interrupt(9, "TIMER2_OVF_vect", "TCCR2B = 1;", "TIMSK2 |= 1;", "TIMSK2 &= ~1;", "TCCR2B = 0;", ""),
        interrupt(7, "TIMER2_COMPA_vect", "TCCR2B = 1;", "TIMSK2 |= 2;", "TIMSK2 &= ~2;", "TCCR2B = 0;", ""),
        interrupt(1, "INT0_vect", "EICRA |= 1;", "EIMSK |= 1;", "EIMSK &= ~1;", "EICRA &= ~3;", ""),
        interrupt(2, "INT1_vect", "EICRA |= 8;", "EIMSK |= 2;", "EIMSK &= ~2;", "EICRA |= 12;", ""),
        interrupt(3, "PCINT0_vect", "PCMSK0 = 3;", "PCICR |= 1;", "PCICR &= ~1;", "PCMSK0 = 0;", ""),
        interrupt(5, "PCINT2_vect", "PCMSK2 = 5;", "PCICR |= 4;", "PCICR &= ~4;", "PCMSK2 = 0;", ""),
        interrupt(18, "USART_RX_vect", "UCSR0B |= 0x10;", "UCSR0B |= 0x80;", "UCSR0B &= ~0x80;", "UCSR0B &= ~0x10;", "v0 = UDR0 & 1;"),
        interrupt(19, "USART_UDRE_vect", "UCSR0B |= 0x08;", "UCSR0B |= 0x20;", "UCSR0B &= ~0x20;", "UCSR0B &= ~0x20;", "UDR0 = 1;"),
        interrupt(21, "ADC_vect", "ADCSRA |= 0xc0;", "ADCSRA |= 8;", "ADCSRA &= ~8;", "ADCSRA |= 0x40;", ""),
    ],
    inputs: ["UDR0", "ADCH", "TCNT0", "ADCL"],
    flags: ["TIFR0 & 1", "UCSR0A & 0x80", "EIFR & 1", "!(UCSR0A & 0x20)"],
    clears: ["TIFR0 = 1;", "EIFR = 1;", "TIFR1 |= 1;"],
    adjusts: ["ADMUX ^= 0x20;", "UDR0 = 1;", "ADCSRA |= 0x40;"],
    wide: "OCR1A",
    second_wide: "OCR1B",
    sleep: ("SMCR", 1),
    watchdog: ("WDTCSR = 0x18; WDTCSR = 8;", "WDTCSR = 0x18; WDTCSR = 0;", "MCUSR"),
    looked_at: &[(0x23, 3), (0x26, 3), (0x29, 3), (0xc6, 5), (0x78, 5), (0x79, 5), (0x46, 5)],
    registers: &[("PORTB", 0x25), ("PORTD", 0x2b), ("SREG_I", 0x5f)],
};

/// The ATmega16.
pub static OLD: Device = Device {
    name: "atmega16",
    plain: "TWBR",
    interrupts: &[
        interrupt(9, "TIMER0_OVF_vect", "TCCR0 = 1;", "TIMSK |= 1;", "TIMSK &= ~1;", "TCCR0 = 0;", ""),
        interrupt(19, "TIMER0_COMP_vect", "TCCR0 = 1;", "TIMSK |= 2;", "TIMSK &= ~2;", "TCCR0 = 0;", ""),
        interrupt(7, "TIMER1_COMPB_vect", "TCCR1B = 1;", "TIMSK |= 8;", "TIMSK &= ~8;", "TCCR1B = 0;", ""),
        interrupt(5, "TIMER1_CAPT_vect", "TCCR1B = 1;", "TIMSK |= 0x20;", "TIMSK &= ~0x20;", "TCCR1B = 0;", ""),
        interrupt(3, "TIMER2_COMP_vect", "TCCR2 = 1;", "TIMSK |= 0x80;", "TIMSK &= ~0x80;", "TCCR2 = 0;", ""),
        interrupt(15, "EE_RDY_vect", "EECR |= 0;", "EECR |= 8;", "EECR &= ~8;", "EECR &= ~8;", ""),
        interrupt(8, "TIMER1_OVF_vect", "TCCR1B = 1;", "TIMSK |= 4;", "TIMSK &= ~4;", "TCCR1B = 0;", ""),
        interrupt(6, "TIMER1_COMPA_vect", "TCCR1B = 1;", "TIMSK |= 0x10;", "TIMSK &= ~0x10;", "TCCR1B = 0;", ""),
        interrupt(4, "TIMER2_OVF_vect", "TCCR2 = 1;", "TIMSK |= 0x40;", "TIMSK &= ~0x40;", "TCCR2 = 0;", ""),
        interrupt(1, "INT0_vect", "MCUCR |= 1;", "GICR |= 0x40;", "GICR &= ~0x40;", "MCUCR &= ~3;", ""),
        interrupt(2, "INT1_vect", "MCUCR |= 8;", "GICR |= 0x80;", "GICR &= ~0x80;", "MCUCR |= 12;", ""),
        interrupt(18, "INT2_vect", "MCUCSR |= 0x40;", "GICR |= 0x20;", "GICR &= ~0x20;", "MCUCSR &= ~0x40;", ""),
        interrupt(11, "USART_RXC_vect", "UCSRB |= 0x10;", "UCSRB |= 0x80;", "UCSRB &= ~0x80;", "UCSRB &= ~0x10;", "v0 = UDR & 1;"),
        interrupt(12, "USART_UDRE_vect", "UCSRB |= 0x08;", "UCSRB |= 0x20;", "UCSRB &= ~0x20;", "UCSRB &= ~0x20;", "UDR = 1;"),
        interrupt(14, "ADC_vect", "ADCSRA |= 0xc0;", "ADCSRA |= 8;", "ADCSRA &= ~8;", "ADCSRA |= 0x40;", ""),
    ],
    inputs: ["UDR", "ADCH", "TCNT0", "ADCL"],
    flags: ["TIFR & 1", "UCSRA & 0x80", "GIFR & 0x40", "!(UCSRA & 0x20)"],
    clears: ["TIFR = 1;", "GIFR = 0x40;", "TIFR |= 4;"],
    adjusts: ["ADMUX ^= 0x20;", "UDR = 1;", "ADCSRA |= 0x40;"],
    wide: "OCR1A",
    second_wide: "OCR1B",
    sleep: ("MCUCR", 0x40),
    watchdog: ("WDTCR = 8;", "WDTCR = 0x18; WDTCR = 0;", "MCUCSR"),
    looked_at: &[(0x36, 3), (0x33, 3), (0x30, 3), (0x2c, 5), (0x24, 5), (0x25, 5), (0x52, 5)],
    registers: &[("PORTB", 0x38), ("PORTD", 0x32), ("SREG_I", 0x5f)],
};
