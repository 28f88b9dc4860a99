/** The activity that does nothing. */
export const EMPTY = 'empty';

/** The workflow types in addition to Longhaul's: empty activities in a chain, and one for each Update. */
export const EMPTY_ACTIVITIES = 'emptyActivities';
export const EMPTY_ON_UPDATE = 'emptyOnUpdate';
