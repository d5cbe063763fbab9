// Plays a translation token by token.

const A_TOKEN = 1100; // milliseconds that a token is shown

export class Player {
  /**
   * @param {function(): number} last Returns the last step.
   * @param {function(number)} show Shows a step.
   * @param {function(boolean)} say Says whether it plays.
   */
  constructor(last, show, say) {
    Object.assign(this, { last, show, say, timer: 0 });
  }

  /** Play from the first step, or stop; return a promise that is kept at the end. */
  toggle() {
    if (this.timer) return this.stop();
    let step = 1;
    this.show(step);
    this.say(true);
    return new Promise((at_end) => {
      this.timer = setInterval(() => {
        if (step >= this.last()) {
          this.stop();
          at_end();
        } else this.show((step += 1));
      }, A_TOKEN);
    });
  }

  stop() {
    clearInterval(this.timer);
    this.timer = 0;
    this.say(false);
  }
}
