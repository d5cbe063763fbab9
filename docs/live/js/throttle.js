// Something that is done often, but not as often as it is asked for.

export class Throttle {
  /**
   * @param {function()} act
   * @param {number} pause Milliseconds between two times.
   */
  constructor(act, pause) {
    Object.assign(this, { act, pause });
    this.last = -Infinity; // when it was done
    this.timer = 0;
  }

  /** Do it at once. */
  now() {
    this.cancel();
    this.last = performance.now();
    this.act();
  }

  /** Do it at once, or, where the last time is less than the pause ago, when that is over. */
  soon() {
    const left = this.last + this.pause - performance.now();
    this.cancel();
    if (left <= 0) this.now();
    else this.timer = setTimeout(() => this.now(), left);
  }

  /** Do not do what was to be done soon. */
  cancel() {
    clearTimeout(this.timer);
  }
}
