// Pages opened as files may not start workers, which the search needs: use a frame instead.
if (location.protocol === "file:") {
  const load = (frame, address) => new Promise((loaded) => {
    const script = frame.document.createElement("script");
    script.addEventListener("load", loaded);
    script.src = address;
    frame.document.body.append(script);
  });
  window.IFrameWorker = class extends EventTarget {
    constructor(address) {
      super();
      const element = document.createElement("iframe");
      element.hidden = true;
      document.body.append(element);
      this.frame = element.contentWindow;
      this.frame.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      this.frame.importScripts = (...addresses) =>
        addresses.reduce((last, next) => last.then(() => load(this.frame, next)), Promise.resolve());
      this.loaded = load(this.frame, address);
    }
    postMessage(data) {
      this.loaded.then(() => this.frame.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {}
  };
  window.Worker = window.IFrameWorker;
}
