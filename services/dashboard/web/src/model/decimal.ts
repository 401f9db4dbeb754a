// Decimal numbers of a form, without the rounding of floating point.

/** A decimal number times a power of ten, exactly; undefined where it is no such number or no whole one. */
export function scaledUp(text: string, power: number): bigint | undefined {
  const [, whole, fraction = ""] = /^(\d+)(?:[.,](\d*))?$/.exec(text.trim()) ?? [];
  if (whole === undefined) return undefined;
  const digits = fraction.replace(/0+$/, "");
  if (digits.length > power) return undefined;
  return BigInt(whole + digits.padEnd(power, "0"));
}

/** The reverse of scaledUp. */
export function scaledDown(n: bigint, power: number): string {
  const digits = n.toString().padStart(power + 1, "0");
  const fraction = digits.slice(digits.length - power).replace(/0+$/, "");
  const whole = digits.slice(0, digits.length - power);
  return fraction ? `${whole}.${fraction}` : whole;
}
