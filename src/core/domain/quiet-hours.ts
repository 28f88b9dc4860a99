import * as s from './shape.ts';

const MINUTES = s.boundedNumber({ type: 'integer', minimum: 0, maximum: 1_439 });

const MEMBERS = {
  /** Minutes after midnight in the zone. */
  from: MINUTES,
  /** Minutes after midnight in the zone: less than `from` if the hours include midnight. */
  to: MINUTES,
  /** An IANA name, such as `Europe/Berlin`. */
  zone: s.boundedText({ minLength: 1, maxLength: 100 }),
  /** The zone's offsets from UTC, each starting at a moment, earliest first. The first also applies before. */
  offsets: s.listOf(s.object({ since: s.MOMENT, minutes: s.boundedNumber({ minimum: -1_440, maximum: 1_440 }) }), {
    minItems: 1,
    maxItems: 100,
  }),
};

/** The hours of each day during which calls of communicating tools wait. */
export interface QuietHours extends s.ObjectOf<typeof MEMBERS> {}
export const QUIET_HOURS: s.Shape<QuietHours> = s.object(MEMBERS);

/** The quiet hours in a definition, as local times. */
export interface QuietHoursOptions {
  /** The start, such as `22:00`. */
  from: string;
  /** The end, such as `07:00`: on the next day if it is earlier than `from`. */
  to: string;
  /** The IANA name of the time zone, such as `Europe/Berlin`. */
  zone: string;
}

/** The quiet hours in the snapshot of an agent or program. */
export interface QuietHoursOfSnapshot {
  /** The hours during which communicating calls wait. Absent: none. */
  quietHours?: QuietHours;
}

/** The maximum number of quiet hours that a run passes on. */
export const MOST_QUIET_HOURS = 20;

/** The quiet hours that a run passes on to its children. */
export const QUIET_HOURS_OF_ANCESTORS = {
  /** The child's communicating calls wait for the end of all of them. */
  quietHours: s.optional(s.listOf(QUIET_HOURS, { maxItems: MOST_QUIET_HOURS })),
};

/** Reads a time such as `07:30` as minutes after midnight; undefined for any other text. */
export function clockMinutes(text: string): number | undefined {
  const [, hours, minutes] = CLOCK.exec(text) ?? [];
  return hours === undefined ? undefined : Number(hours) * 60 + Number(minutes);
}

/** A time of day. */
export const CLOCK = /^([01][0-9]|2[0-3]):([0-5][0-9])$/;
