interface Regression {
  /** What delivery did before its fix, or does when the fix is removed. */
  fault: string;
  steps: string[];
}

const steps = (text: string): string[] => text.split(',').map((step) => step.trim());

/** Runs of the model that find a fault when its fix is removed. */
export const REGRESSIONS: Record<string, Regression> = {
  'a git that is killed while a clone’s settings are read makes no solo bus of it': {
    fault: '1',
    steps: steps('fault front config, ask front ann worker@back, pass front, pass back'),
  },
  'of goals that overlap nobody gets the summary of another': {
    fault: '2, found at random by seed 11, path 4 too',
    steps: steps(
      'ask front ann boss, pass front, pass back, ask front ben boss, pass front, pass back, pass front, pass back',
    ),
  },
  'what a set-back branch has lost is published again': {
    fault: '3, found at random by seed 11, path 4 too',
    steps: steps('ask front ann worker, pass front, pass back, rewind 99, pass front, pass back'),
  },
  'what is asked before a branch is set back, and more after it while no dispatcher runs, is not lost':
    {
      fault: '3, found by seed 3, path 45',
      steps: steps('ask back ann worker@back, rewind 8, ask back ben flaky, pass front'),
    },
  'a branch that is renamed and set back before its new name is followed loses nothing': {
    fault: '3 and 5, found by seed 7, path 8',
    steps: steps('ask front ann worker@back, rename, rewind 2'),
  },
  'a remote that is given another address loses nothing that is queued': {
    fault: '4',
    steps: steps('unplug, ask front ann worker@back, plug, readdress front, pass front, pass back'),
  },
  'a branch that was renamed at the remote is not made anew': {
    fault: '5',
    steps: steps('ask front ann worker, pass front, rename, ask front ben worker, pass front'),
  },
  'a branch that was deleted comes back as it was, whatever the checkout stands at': {
    fault: '5',
    steps: steps(
      'delete front, pass front, ask back ann worker, pass front, pass back, delete front, sync front, pass back',
    ),
  },
  'a message whose place is taken overwrites nothing, and it is said': {
    fault: '7',
    steps: steps('unplug, ask front ann worker@back, plug, squat front, pass front, pass back'),
  },
  'what is removed and reverted under a running dispatcher is not answered again': {
    fault: '8',
    steps: steps(
      'ask front ann worker, start front, start back, pass front, pass back, remove, pass front, pass back, revert, pass front, pass back',
    ),
  },
  'a question whose answer is taken out of the history is not asked again': {
    fault: '8',
    steps: steps(
      'ask front ann worker@back, pass back, ask front ben helper, pass back, drop 1, pass back',
    ),
  },
  'after an archive a history that is set back is still told from one': {
    fault: '8',
    steps: steps(
      'ask front ann worker, pass front, pass back, archive front, pass front, pass back, ask front ben worker, pass front, pass back, rewind 99, pass front, pass back',
    ),
  },
  'a retry of a state that was set back is not made once its answer is there': {
    fault: '10',
    steps: steps(
      'ask back ann flaky, pass front, save front, retry front, pass front, restore front, retry front, pass front',
    ),
  },
  'a copy of a machine with its state answers everything twice, and it is said': {
    fault: '10',
    steps: steps(
      'copy front, start front, start front-copy, pass front, pass front-copy, ask back ann worker@front, pass front, pass front-copy',
    ),
  },
  'a coordinator whose clock is days behind is not run again on what it has answered': {
    fault: '10',
    steps: steps(
      'save front, clock front -3, ask back ann boss, pass front, pass back, pass front, pass front, restore front, pass front',
    ),
  },
};
