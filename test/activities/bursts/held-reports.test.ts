import { expect, test } from 'vitest';
import { BurstReports, HeldReports } from '../../../activities/bursts/call-inside.ts';
import { idGenerator } from '../../../src/telemetry/ids.ts';
import { Telemetry } from '../../../src/telemetry/telemetry.ts';
import { plainApi, RecordingMeter, RecordingSdk } from '../../telemetry/recording-sdk.ts';
import { activityEnvironment, type EnvironmentOptions } from '../activity-environment.ts';

/** The reports of an attempt at a burst with three calls; the last call is left to the run. Each reports its name. */
class Reporting {
  readonly telemetry = new Telemetry(plainApi(new RecordingSdk(idGenerator)), { meterProvider: new RecordingMeter() });
  readonly reports = new BurstReports(this.telemetry);
  readonly reported: string[] = [];

  end(name: string, { isLeft = false } = {}): void {
    const held = new HeldReports();
    held.add(() => this.reported.push(name));
    this.reports.hold(held, { isLeft });
  }

  /** The reports, and how many count as lost. */
  async fates(): Promise<[reported: string[], lost: number]> {
    await this.telemetry.flush();
    return [this.reported, this.telemetry.dropped];
  }
}

function inActivity<Result>(work: (reporting: Reporting) => Promise<Result>, options: EnvironmentOptions = {}): Promise<Result> {
  return activityEnvironment(options).run(() => work(new Reporting()), null);
}

test('a call is reported once a checkpoint has stored its outcome, and a call that is left to the run only with the end', async () => {
  await inActivity(async (reporting) => {
    reporting.end('a');
    reporting.end('left', { isLeft: true });
    const storing = reporting.reports.storing();
    reporting.end('b');
    expect(await reporting.fates()).toEqual([[], 0]);
    storing.stored();
    expect(await reporting.fates()).toEqual([['a'], 0]);
    await reporting.reports.returned();
    expect(await reporting.fates()).toEqual([['a', 'b', 'left'], 0]);
  });
});

test('reports that a checkpoint has not stored wait for the next one, or for the end, even if the attempt fails after it', async () => {
  await inActivity(async (reporting) => {
    reporting.end('a');
    reporting.reports.storing().failed();
    reporting.end('b');
    const storing = reporting.reports.storing();
    await reporting.reports.returned();
    expect(await reporting.fates()).toEqual([[], 0]);
    storing.failed();
    expect(await reporting.fates()).toEqual([['a', 'b'], 0]);
  });
});

test('reports that an attempt could not store are given up, and count, unless it is the last attempt, whose failure has them', async () => {
  for (const isLast of [false, true])
    await inActivity(async (reporting) => {
      reporting.end('a');
      await reporting.reports.notStored({ isLast });
      reporting.end('late');
      expect(await reporting.fates()).toEqual(isLast ? [['a'], 1] : [[], 2]);
    });
});

test.each(['returned', 'notStored'] as const)(
  'what the server no longer waits for when the attempt has %s is made again: it is given up, and counts',
  async (end) => {
    const info = { activityId: 'a1', attempt: 3, heartbeatTimeoutMs: 3_000, currentAttemptScheduledTimestampMs: Date.now() - 4_000 };
    await inActivity(
      async (reporting) => {
        reporting.end('a');
        reporting.end('left', { isLeft: true });
        await reporting.reports[end]({ isLast: true });
        expect(await reporting.fates()).toEqual([[], 2]);
      },
      { info, pendingActivities: [{ activityId: 'a1', attempt: 4 }] },
    );
  },
);
