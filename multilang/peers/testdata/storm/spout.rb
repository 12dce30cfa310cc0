require_relative "storm"

class Tester < Storm::Spout
  IDS = ["s", 1, 2.5, { "a" => [nil] }, [1]]

  def open(_conf, _context)
    @n = 0
  end

  def nextTuple
    n = @n
    @n += 1
    if n < IDS.length
      emit ["next", n], :id => IDS[n]
    elsif n == 5
      emit ["d"], :direct_task => 3, :stream => "straight", :id => "direct"
    elsif n == 6
      emit [emit(["free", n])], :stream => "other"
    end
  end

  def ack(id)
    log "acked #{id.inspect}"
  end

  def fail(id)
    log "failed #{id.inspect}"
    emit ["again", 0], :id => id
  end

  def activate
    log "active"
  end

  def deactivate
    log "inactive"
  end
end

Tester.new.run
