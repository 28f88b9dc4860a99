import * as s from './shape.ts';

const MINUTES = s.boundedNumber({ type: 'integer', minimum: 0, maximum: 1_439 });

const MEMBERS = {
  /** Minutes after midnight, of the zone. */
  from: MINUTES,
  /** Minutes after midnight, of the zone: less than `from` if the night is between. */
  to: MINUTES,
  /** An IANA name, such as `Europe/Berlin`. */
  zone: s.boundedText({ minLength: 1, maxLength: 100 }),
  /** The offsets from UTC of the zone, each from a moment on, the earliest first. The first one also holds before. */
  offsets: s.listOf(s.object({ since: s.MOMENT, minutes: s.boundedNumber({ minimum: -1_440, maximum: 1_440 }) }), {
    minItems: 1,
    maxItems: 100,
  }),
};

/** The hours of each day in which calls of tools that communicate wait. */
export interface QuietHours extends s.ObjectOf<typeof MEMBERS> {}
export const QUIET_HOURS: s.Shape<QuietHours> = s.object(MEMBERS);

/** The quiet hours that a definition sets, as times of the clock. */
export interface QuietHoursOptions {
  /** The beginning, such as `22:00`. */
  from: string;
  /** The end, such as `07:00`: of the next day if it is earlier than `from`. */
  to: string;
  /** The time zone by its IANA name, such as `Europe/Berlin`. */
  zone: string;
}

/** What the snapshot of an agent, or of a program, says about quiet hours. */
export interface QuietHoursOfSnapshot {
  /** The hours in which calls that communicate wait. Absent: none. */
  quietHours?: QuietHours;
}

/** The most quiet hours that a run passes on. */
export const MOST_QUIET_HOURS = 20;

/** The quiet hours that a run passes on to those that it starts. */
export const QUIET_HOURS_OF_ANCESTORS = {
  /** The calls of the child wait for the end of all of them. */
  quietHours: s.optional(s.listOf(QUIET_HOURS, { maxItems: MOST_QUIET_HOURS })),
};

/** Reads a time of the clock, such as `07:30`, as minutes after midnight; undefined for another text. */
export function clockMinutes(text: string): number | undefined {
  const [, hours, minutes] = CLOCK.exec(text) ?? [];
  return hours === undefined ? undefined : Number(hours) * 60 + Number(minutes);
}

/** A time of the clock. */
export const CLOCK = /^([01][0-9]|2[0-3]):([0-5][0-9])$/;
