import { UsageError } from '../core/domain/errors.ts';
import { clockMinutes, type QuietHours, type QuietHoursOptions } from '../core/domain/quiet-hours.ts';
import type { AgentPart } from './agent-part.ts';
import { requireKnown } from './option-checks.ts';

export type { QuietHoursOptions } from '../core/domain/quiet-hours.ts';

/** The option of an agent that concerns its quiet hours. */
export interface AgentQuietHours {
  /** The hours in which calls of tools of the category `communicate` wait: they start at the end of these hours. Default: none. */
  quietHours?: QuietHoursOptions;
}

/** The field of an agent that has its quiet hours. */
export interface QuietHoursFields {
  /** Its quiet hours, without the offsets of the zone, which are pinned for each run. Absent: none. */
  readonly quietHours?: Omit<QuietHours, 'offsets'>;
}

/** Quiet hours as a part of an agent. */
export const quietHoursPart: AgentPart<AgentQuietHours, QuietHoursFields> = {
  options: {
    quietHours: [
      '`{ from, to, zone }`',
      'none',
      'hours in which calls of tools of the category `communicate` [wait](tools.md#quiet-hours)',
    ],
  },
  define: (owner, { quietHours }) => (quietHours === undefined ? {} : { quietHours: checked(`${owner}: "quietHours`, quietHours) }),
};

/** `what` is the owner and the opened name of the option. */
function checked(what: string, options: unknown): Omit<QuietHours, 'offsets'> {
  if (typeof options !== 'object' || options === null || Array.isArray(options))
    throw new UsageError(`${what}" is ${JSON.stringify(options)}: write { from: "22:00", to: "07:00", zone: "Europe/Berlin" }`);
  const { from, to, zone } = options as Partial<Record<keyof QuietHoursOptions, unknown>>;
  requireKnown(`${what}"`, options as QuietHoursOptions, { from: true, to: true, zone: true });
  const hours = { from: minutesOf(`${what}.from"`, from), to: minutesOf(`${what}.to"`, to), zone: zoneOf(`${what}.zone"`, zone) };
  if (hours.from === hours.to)
    throw new UsageError(`${what}" begin and end at "${String(from)}": write two times, or leave "quietHours" out`);
  return hours;
}

function minutesOf(what: string, value: unknown): number {
  const minutes = typeof value === 'string' ? clockMinutes(value) : undefined;
  if (minutes === undefined) throw new UsageError(`${what} is ${describeValue(value)}: write a time from "00:00" to "23:59"`);
  return minutes;
}

function zoneOf(what: string, value: unknown): string {
  if (typeof value === 'string' && isZone(value)) return value;
  throw new UsageError(`${what} is ${describeValue(value)}: write the IANA name of a time zone, such as "Europe/Berlin"`);
}

function isZone(timeZone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}

function describeValue(value: unknown): string {
  return value === undefined ? 'missing' : JSON.stringify(value);
}
