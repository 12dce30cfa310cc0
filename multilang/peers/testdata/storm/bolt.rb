require_relative "storm"

class Tester < Storm::Bolt
  def prepare(conf, context)
    @kept = []
    log "of #{context["componentid"]}, task #{context["taskid"]}, said #{conf["test.word"]}"
  end

  def process(tup)
    if tup.component == "__system"
      emit ["tick"], :stream => "other", :anchor => tup
      return ack(tup)
    end
    op, arg = tup.values
    send("on_#{op}", tup, arg)
  end

  def on_echo(tup, arg)
    emit ["echo", arg], :anchor => tup
    ack tup
  end

  def on_ids(tup, arg)
    tasks = (0...arg).map { |n| emit(["ids", n], :anchor => tup) }
    emit [tasks], :stream => "other", :anchors => [tup]
    ack tup
  end

  def on_direct(tup, arg)
    emit [arg], :direct_task => 3, :stream => "straight", :anchor => tup
    ack tup
  end

  def on_keep(tup, _arg)
    @kept << tup
  end

  def on_join(tup, _arg)
    @kept << tup
    emit ["join", @kept.length], :anchors => @kept
    @kept.each { |t| ack t }
    @kept = []
  end

  def on_log(tup, _arg)
    logTrace "a"
    logDebug "b"
    logInfo "c"
    logWarn "d"
    logError "e \u6f22"
    ack tup
  end

  def on_report(tup, arg)
    reportError arg
    ack tup
  end

  def on_fail(tup, _arg)
    self.fail tup
  end

  def on_show(tup, arg)
    puts arg
    ack tup
  end

  def on_unanchored(tup, arg)
    emit ["unanchored", arg]
    ack tup
  end

  def on_crash(_tup, arg)
    raise ArgumentError, arg
  end

  def on_wrong(tup, _arg)
    emit ["only one"], :anchor => tup
    emit [1], :stream => "nowhere", :anchor => tup
    ack tup
  end
end

Tester.new.run
